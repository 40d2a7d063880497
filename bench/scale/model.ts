// A model of many processes on many databases: who waits for whom, without any of them.
//   M1. A closed system: every instance is always at its next step. What a step costs is measured, not modelled: the
//       processor time of a runtime a step, and of a database a group and a step in it.
//   M2. A runtime works on one thing at a time, and has one group under way in its database; the rest of its steps
//       gather for the next group (architecture §4).
//   M3. A database works on as many groups at once as it has cores; then a group's log goes to the disk, one behind the
//       other, and is waited for, all together.
//   M4. Time is the model's own: the same setting gives the same figure, anywhere.

export interface Costs {
  /** Of a runtime, a step. */
  readonly runtimeUsPerStep: number;
  /** Of a database, a group, whatever is in it. */
  readonly groupUs: number;
  /** Of a database, a step in a group. */
  readonly databaseUsPerStep: number;
  /** Until the disk has it, the way there and back included. */
  readonly commitUs: number;
  readonly groupMax: number;
  /** What a step adds to the log. */
  readonly logBytesPerStep: number;
  readonly diskBytesPerUs: number;
}

export interface Fleet {
  /** Instances in flight, database by database. */
  readonly inFlight: readonly number[];
  readonly runtimesPerDatabase: number;
  readonly coresPerDatabase: number;
}

export interface Outcome {
  readonly stepsPerS: number;
  /** Of the time of the busiest database's cores, of its disk, and of the busiest runtime. */
  readonly databaseBusy: number;
  readonly diskBusy: number;
  readonly runtimeBusy: number;
}

interface Event {
  readonly at: number;
  readonly happens: () => void;
}

const WARM_UP_US = 200_000;
const MEASURED_US = 500_000;

/** All databases; they share nothing, so each is a run of its own. */
export function run(fleet: Fleet, costs: Costs): Outcome {
  const each = fleet.inFlight.map((instances) => runOne(instances, fleet, costs));
  return {
    stepsPerS: each.reduce((sum, { stepsPerS }) => sum + stepsPerS, 0),
    databaseBusy: Math.max(...each.map(({ databaseBusy }) => databaseBusy)),
    diskBusy: Math.max(...each.map(({ diskBusy }) => diskBusy)),
    runtimeBusy: Math.max(...each.map(({ runtimeBusy }) => runtimeBusy)),
  };
}

function runOne(instances: number, fleet: Fleet, costs: Costs): Outcome {
  const { coresPerDatabase, runtimesPerDatabase } = fleet;
  const time = new Timeline();
  const cores = new Servers(time, coresPerDatabase);
  const disk = new Servers(time, 1);
  const runtimes = Array.from({ length: runtimesPerDatabase }, (_, index) => {
    const share = Math.floor((instances + index) / runtimesPerDatabase);
    return new Runtime(time, { cores, disk }, costs, share);
  });
  for (const runtime of runtimes) runtime.begin();
  time.until(WARM_UP_US);
  const before = runtimes.map(({ steps }) => steps);
  cores.forget();
  disk.forget();
  for (const runtime of runtimes) runtime.thread.forget();
  time.until(WARM_UP_US + MEASURED_US);
  const steps = runtimes.reduce((sum, runtime, i) => sum + runtime.steps - (before[i] ?? 0), 0);
  return {
    stepsPerS: (steps / MEASURED_US) * 1e6,
    databaseBusy: cores.busyUs / (MEASURED_US * coresPerDatabase),
    diskBusy: disk.busyUs / MEASURED_US,
    runtimeBusy: Math.max(...runtimes.map(({ thread }) => thread.busyUs / MEASURED_US)),
  };
}

interface Database {
  readonly cores: Servers;
  readonly disk: Servers;
}

class Runtime {
  readonly thread: Servers;
  steps = 0;
  readonly #time: Timeline;
  readonly #database: Database;
  readonly #costs: Costs;
  #waiting: number;
  #underWay = false;

  constructor(time: Timeline, database: Database, costs: Costs, instances: number) {
    this.#time = time;
    this.#database = database;
    this.#costs = costs;
    this.thread = new Servers(time, 1);
    this.#waiting = instances;
  }

  begin(): void {
    this.#send();
  }

  #send(): void {
    if (this.#underWay || this.#waiting === 0) return;
    const { groupMax, groupUs, databaseUsPerStep, commitUs, runtimeUsPerStep } = this.#costs;
    const group = Math.min(this.#waiting, groupMax);
    this.#waiting -= group;
    this.#underWay = true;
    const answered = (): void => {
      this.#underWay = false;
      this.#send(); // the next group leaves before this one's answers are worked on
      this.thread.work(group * runtimeUsPerStep, () => {
        this.steps += group;
        this.#waiting += group;
        this.#send();
      });
    };
    const { cores, disk } = this.#database;
    const logUs = (group * this.#costs.logBytesPerStep) / this.#costs.diskBytesPerUs;
    cores.work(groupUs + group * databaseUsPerStep, () => {
      disk.work(logUs, () => this.#time.after(commitUs, answered));
    });
  }
}

/** So many of a kind, and a queue before them. */
class Servers {
  busyUs = 0;
  readonly #time: Timeline;
  #free: number;
  readonly #queue: { readonly us: number; readonly done: () => void }[] = [];

  constructor(time: Timeline, count: number) {
    this.#time = time;
    this.#free = count;
  }

  work(us: number, done: () => void): void {
    this.#queue.push({ us, done });
    this.#next();
  }

  forget(): void {
    this.busyUs = 0;
  }

  #next(): void {
    if (this.#free === 0) return;
    const job = this.#queue.shift();
    if (job === undefined) return;
    this.#free -= 1;
    this.busyUs += job.us;
    this.#time.after(job.us, () => {
      this.#free += 1;
      job.done();
      this.#next();
    });
  }
}

class Timeline {
  #now = 0;
  readonly #events: Event[] = [];

  after(us: number, happens: () => void): void {
    const at = this.#now + us;
    const index = this.#events.findLastIndex((event) => event.at <= at) + 1;
    this.#events.splice(index, 0, { at, happens });
  }

  until(end: number): void {
    for (let next = this.#events[0]; next !== undefined && next.at <= end; next = this.#events[0]) {
      this.#events.shift();
      this.#now = next.at;
      next.happens();
    }
    this.#now = end;
  }
}
