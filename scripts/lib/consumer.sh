# A foreign project that uses Lockset. Source it after common.sh.

# consumer_in FOLDER: its program is the example of the README.
consumer_in() {
  mkdir -p "$1"
  cp "$top/tests/install/CMakeLists.txt" "$1/"
  sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$top/README.md" >"$1/main.cpp"
  grep -q 'int main' "$1/main.cpp" || {
    echo 'README.md has no C++ example with a main()' >&2
    exit 1
  }
}
