//! The shader pool: threads with large stacks that analyse programs and make pipelines. Systems hand jobs in and
//! look for results; they never wait.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
};

use bevy_ecs::prelude::*;
use relic_components::Message;
use relic_core::Inbox;

type Job = Box<dyn FnOnce() + Send>;

/// See the module's text.
#[derive(Resource)]
pub struct ShaderPool {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    inbox: Arc<Inbox<Message>>,
}

/// Deeply nested control flow recurses in drivers' compilers.
const STACK: usize = 64 << 20;

impl ShaderPool {
    /// Starts half as many threads as there are cores, at least one.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(inbox: Arc<Inbox<Message>>) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        let (jobs, waiting) = mpsc::channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        let threads = (0..(cores / 2).max(1))
            .map(|i| {
                let waiting = Arc::clone(&waiting);
                thread::Builder::new()
                    .name(format!("relic-shader-{i}"))
                    .stack_size(STACK)
                    .spawn(move || {
                        relic_core::trace::name_thread("shader");
                        loop {
                            let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                            let Ok(job) = job else { return };
                            job();
                        }
                    })
            })
            .collect::<io::Result<_>>()?;
        Ok(Self {
            jobs: Some(jobs),
            threads,
            inbox,
        })
    }

    /// Runs `job` on the pool and then tells the pump that something is prepared.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let inbox = Arc::clone(&self.inbox);
        let job = Box::new(move || {
            job();
            // A closed inbox means that nobody waits for the result any more.
            let _ = inbox.send(Message::ShaderPrepared);
        });
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }
}

impl Drop for ShaderPool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
