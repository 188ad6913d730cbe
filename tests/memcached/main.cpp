#include "tests/support/requirement.h"

int main(int argc, char** argv) { return lockset::test::run_tests(argc, argv); }
