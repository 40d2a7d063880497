// perdure/schedule: starts orchestrations at calendar times, exactly once per scheduled time. README.md
// describes the folder.

export { schedule, Schedule, type ScheduleInput, type ScheduleOptions } from "./schedule.ts";
export type { RuleOptions, ScheduleRule } from "./rule.ts";
export type { Fired, ScheduleState, ScheduleStatus } from "./state.ts";
