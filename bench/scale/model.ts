// A model of many processes on many databases: it computes the waits without running any of them.
//   - A closed system: every instance is always at its next step. The costs are measured, not modelled: processor time
//       per step in a runtime, and per group and per step in a database.
//   - A runtime does one thing at a time, and has one group in flight to its database; its other steps gather for the
//       next group.
//   - A database works on as many groups at once as it has cores. Then the log of each group is written to the disk,
//       one after the other, and all groups wait for the sync together.
//   - Time is virtual: the same setting gives the same figure on every machine.

export interface Costs {
  /** Of a runtime, per step. */
  readonly runtimeUsPerStep: number;
  /** Of a database, per group, regardless of its contents. */
  readonly groupUs: number;
  /** Of a database, per step in a group. */
  readonly databaseUsPerStep: number;
  /** Until the group is on disk, including the round trip. */
  readonly commitUs: number;
  readonly groupMax: number;
  /** The bytes that a step adds to the log. */
  readonly logBytesPerStep: number;
  readonly diskBytesPerUs: number;
}

export interface Fleet {
  /** Instances in flight, per database. */
  readonly inFlight: readonly number[];
  readonly runtimesPerDatabase: number;
  readonly coresPerDatabase: number;
}

export interface Outcome {
  readonly stepsPerS: number;
  /** Utilization of the busiest database's cores, of its disk, and of the busiest runtime. */
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

/** Runs all databases; they share nothing, so each is a separate run. */
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
  #isInFlight = false;

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
    if (this.#isInFlight || this.#waiting === 0) return;
    const { groupMax, groupUs, databaseUsPerStep, commitUs, runtimeUsPerStep } = this.#costs;
    const group = Math.min(this.#waiting, groupMax);
    this.#waiting -= group;
    this.#isInFlight = true;
    const answered = (): void => {
      this.#isInFlight = false;
      this.#send(); // the next group is sent before the answers of this one are processed
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

/** A number of equal servers with a common queue. */
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
