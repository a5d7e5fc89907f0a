//! Running tasks to their ends.

use super::{Event, Status, TaskId, TaskState};
use crate::Time;
use crate::account::Report;
use crate::core_set::CoreId;
use crate::machine::Machine;
use crate::task::Task;
use corosensei::stack::DefaultStack;
use corosensei::{ScopedCoroutine, ScopedCoroutineRef, Yielder};
use pageout_paging::Format;
use std::any::Any;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// The yielder by which a task hands over.
pub(crate) type TaskYielder = Yielder<(), ()>;

/// The actions of a task from beginning to end.
pub type Body<'x, 'a, F> = Box<dyn for<'t> FnOnce(&Task<'t, 'a, F>) + 'x>;

/// A task to run.
pub struct TaskSpec<'x, 'a, F: Format> {
    /// The name of the task in reports.
    pub name: String,
    /// The only core the task may run on; `None` for any.
    pub pinned: Option<CoreId>,
    /// The actions of the task.
    pub body: Body<'x, 'a, F>,
}

impl<F: Format> fmt::Debug for TaskSpec<'_, '_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'x, 'a, F: Format> TaskSpec<'x, 'a, F> {
    /// Makes a task that may run on any core.
    pub fn new(name: impl Into<String>, body: impl for<'t> FnOnce(&Task<'t, 'a, F>) + 'x) -> Self {
        Self { name: name.into(), pinned: None, body: Box::new(body) }
    }

    /// Binds the task to one core.
    #[must_use]
    pub fn on(self, core: CoreId) -> Self {
        Self { pinned: Some(core), ..self }
    }
}

/// The bytes of a task's stack.
const STACK: usize = 256 << 10;

type Coroutine<'x> = ScopedCoroutineRef<'x, (), (), (), DefaultStack>;
type Bodies<'x> = Vec<Box<dyn FnOnce(&TaskYielder) + 'x>>;
type Panic = Box<dyn Any + Send>;

impl<'a, F: Format> Machine<'a, F> {
    /// Runs the tasks to their ends, from where the machine is. Tasks are numbered from 0 in the
    /// order given, over all runs of the machine.
    ///
    /// # Panics
    /// With a task's own panic, or if there is no memory for the tasks' stacks. If no task can ever
    /// go on, the message says who waits for what.
    pub fn run<'x>(&'x self, tasks: Vec<TaskSpec<'x, 'a, F>>) -> Report {
        let first = self.tasks.borrow().len();
        let start = self.used().map(|core| core.clock.get()).max().unwrap_or_default();
        let bodies: Bodies<'x> = tasks.into_iter().map(|spec| self.begin(start, spec)).collect();
        let mut outcome = Ok(());
        nest(bodies, Vec::new(), &mut |coroutines| outcome = self.turns(first, coroutines));
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        self.report()
    }

    fn begin<'x>(
        &'x self,
        start: Time,
        spec: TaskSpec<'x, 'a, F>,
    ) -> Box<dyn FnOnce(&TaskYielder) + 'x> {
        let node = self.account.borrow_mut().root(&spec.name);
        let state = Rc::new(TaskState::new(spec.name, spec.pinned, CoreId::default(), node));
        let id = TaskId(self.tasks.borrow().len() as u32);
        self.tasks.borrow_mut().push(Rc::clone(&state));
        self.tell(start, Event::Wake(id));
        Box::new(move |yielder| {
            let task = Task::new(self, id, state, Some(yielder));
            (spec.body)(&task);
            task.end();
        })
    }

    fn turns(&self, first: usize, coroutines: &mut [Coroutine<'_>]) -> Result<(), Panic> {
        while let Some(id) = self.chosen.take().or_else(|| self.next_turn()) {
            let current = self.core(id).current.get().expect("a core in turn has a task");
            let coroutine = &mut coroutines[current.0 as usize - first];
            catch_unwind(AssertUnwindSafe(|| coroutine.resume(())))?;
        }
        match self.waiting() {
            None => Ok(()),
            Some(all) => Err(Box::new(format!("no task can go on: {all}"))),
        }
    }

    /// Returns a list of the tasks that are not done and of what they wait for, if any task is not
    /// done.
    pub(crate) fn waiting(&self) -> Option<String> {
        let mut all = String::new();
        for task in self.tasks.borrow().iter() {
            let name = &task.name;
            let _ = match (task.status.get(), task.spins_for.get()) {
                (Status::Done, _) => Ok(()),
                (Status::Until(at), _) => write!(all, "{name} waits until {at}; "),
                (Status::Blocked(what), _) => write!(all, "{name} waits for {what}; "),
                (Status::Runnable, None) => write!(all, "{name} could run; "),
                (Status::Runnable, Some(lock)) => match self.holder(lock) {
                    None => write!(all, "{name} spins for {lock}; "),
                    Some(holder) => {
                        let holder = &self.tasks.borrow()[holder.0 as usize].name;
                        write!(all, "{name} spins for {lock}, which {holder} holds; ")
                    }
                },
            };
        }
        (!all.is_empty()).then(|| all.trim_end_matches("; ").to_owned())
    }
}

/// Opens the scope of each task inside that of the task before, and runs in the innermost.
fn nest(
    mut bodies: Bodies<'_>,
    tasks: Vec<Coroutine<'_>>,
    run: &mut dyn FnMut(&mut [Coroutine<'_>]),
) {
    let Some(body) = bodies.pop() else {
        let mut tasks = tasks;
        tasks.reverse();
        run(&mut tasks);
        return;
    };
    let stack = DefaultStack::new(STACK).expect("there is memory for a task's stack");
    let coroutine =
        ScopedCoroutine::with_stack(stack, move |yielder: &TaskYielder, ()| body(yielder));
    coroutine.scope(|task| {
        let mut tasks: Vec<Coroutine<'_>> = tasks;
        tasks.push(task);
        nest(bodies, tasks, run);
    });
}
