// Deterministic simulation: several processes, a network and a store on one thread, with random faults by
// seed.
//
//   scenario (data, drawn from a seed) ─► run ─► violations, statistics, hash of the trace
//
//   simulate.ts     many runs, one per seed          simulation.ts  one run
//   scenario.ts     all parameters of a run          minimize.ts    shrinks a failing scenario
//   timeline.ts     the single thread and its time   world/         processes, network, store, faults
//   inspector.ts    checks after each store call     invariants/    the rules C1 to C31 that it checks
//   end-audit.ts    checks after the run             programs/      random orchestrations with known results
//                                                    queues/        random jobs under rules and limits
//
//   - The same scenario and the same code give the same trace, bit for bit.
//   - Faults stop at a planned time. Afterwards every instance must end within a bounded time.
//   - A violation does not stop the run. The report lists all violations of all seeds.
export type { SeededRandom } from "./world/seeded-random.ts";
export {
  DEFAULT_FAULTS,
  FAULT_KINDS,
  type FaultEvent,
  type FaultKind,
  type FaultPlan,
} from "./world/faults.ts";
export type { Acknowledged, Ledger, RunEntry } from "./ledger.ts";
export type { SimulatedProcess } from "./world/machine.ts";
export { LOST_TAIL_FAULTS, lostTail } from "./world/lost-tail.ts";
export { minimize, type Minimized, type MinimizeOptions } from "./minimize.ts";
export type { NetworkFaults } from "./world/network.ts";
export { workloadOf, type Checking, type Driving, type OwnWorkload } from "./world/own-workload.ts";
export type { Expected } from "./programs/expected.ts";
export type { ExtraOperation } from "./programs/extra-operation.ts";
export { programs, type ProgramsPlan } from "./programs/programs.ts";
export { QUEUE_FAULTS, queues } from "./queues/queues.ts";
export type { QueuesPlan } from "./queues/plan.ts";
export type { PlainOptions, PlanFrame, Scenario } from "./scenario.ts";
export {
  scenarioOf,
  simulate,
  type FailedSeed,
  type SimulateOptions,
  type SimulationReport,
} from "./simulate.ts";
export type { Sabotage } from "./world/simulated-store.ts";
export { runScenario, type RunOptions, type RunResult, type RunStatistics } from "./simulation.ts";
export { INVARIANTS, type InvariantNumber, type Violation } from "./violation.ts";
export type { EndedInstance, EndOfRun, Hand, Play, Script, Workload } from "./world/workload.ts";
