// perdure/schedule: orchestrations that are started by the calendar, once for each of its times.

export { schedule, Schedule, type ScheduleInput, type ScheduleOptions } from "./schedule.ts";
export type { RuleOptions, ScheduleRule } from "./rule.ts";
export type { Fired, ScheduleState, ScheduleStatus } from "./state.ts";
