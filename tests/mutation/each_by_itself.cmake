# A mutant changes one file of the library: not compiled together with others, it is rebuilt in a few
# seconds. (Included behind project(), before the targets are made: hence the end of the folder.)
cmake_language(DEFER CALL set_target_properties lockset PROPERTIES UNITY_BUILD OFF)
