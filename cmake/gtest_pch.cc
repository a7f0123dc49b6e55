// Gives the precompiled <gtest/gtest.h> a target; an executable, since its flags must be theirs.
int main() {}
