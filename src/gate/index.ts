// perdure/gate: so many at once, so many a minute, over all processes.

export { gate, Gate, type PassOptions } from "./gate.ts";
export type { GateOptions, GateRule } from "./rule.ts";
export type { Ticket } from "./messages.ts";
export type { GateState, GateStatus } from "./state.ts";
