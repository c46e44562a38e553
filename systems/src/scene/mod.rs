//! Scenes: recorded command streams with the memory they use and the results they should give.
