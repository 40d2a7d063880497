// Simulation: a whole system on one thread, with everything going wrong, again and again by seed.
export type { Chance } from "./chance.ts";
export {
  DEFAULT_FAULTS,
  FAULT_KINDS,
  type FaultEvent,
  type FaultKind,
  type FaultPlan,
} from "./faults.ts";
export type { Acknowledged, Ledger, RunEntry } from "./ledger.ts";
export type { SimulatedProcess } from "./machine.ts";
export { LOST_TAIL_FAULTS, lostTail } from "./lost-tail.ts";
export { minimize, type Minimized, type MinimizeOptions } from "./minimize.ts";
export type { NetworkFaults } from "./network.ts";
export { workloadOf, type Checking, type Driving, type OwnWorkload } from "./own-workload.ts";
export type { Expected } from "./programs/expected.ts";
export type { ExtraOperation } from "./programs/extra-operation.ts";
export { programs, type ProgramsPlan } from "./programs/programs.ts";
export type { PlainOptions, PlanFrame, Scenario } from "./scenario.ts";
export {
  scenarioOf,
  simulate,
  type FailedSeed,
  type SimulateOptions,
  type SimulationReport,
} from "./simulate.ts";
export type { Sabotage } from "./simulated-store.ts";
export { runScenario, type RunOptions, type RunResult, type RunStatistics } from "./simulation.ts";
export { INVARIANTS, type InvariantNumber, type Violation } from "./violation.ts";
export type { EndedInstance, EndOfRun, Hand, Play, Script, Workload } from "./workload.ts";
