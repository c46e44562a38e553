//! libSceAgcDriver: handing command buffers to the GPU's queues, and hearing of their progress.

mod event;
mod resource;
mod submit;

pub(crate) use event::end_of_pipe;
