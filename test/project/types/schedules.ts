// Schedules: the input is that of the started orchestration, as a value or as a function of the time.

import { orchestration } from "perdure";
import { flow } from "perdure/flow";
import { schedule, type Schedule } from "perdure/schedule";
import { expectTypeOf } from "../../support/expect-type.ts";

const report = orchestration("report", async (_, day: string) => day.length);
const tidy = orchestration("tidy", async () => "done");
const pipeline = flow<number>("pipeline")
  .then("double", (n) => n * 2)
  .build();

expectTypeOf(schedule("a", { cron: "@daily", start: report, input: "today" })).is<Schedule>();
schedule("b", { every: "1h", start: report, input: (time) => time.toISOString() });
schedule("c", { every: 3_600_000, start: report, input: async (time) => time.toISOString() });
schedule("d", { cron: "@daily", start: tidy });
schedule("e", { cron: "@daily", start: pipeline, input: 5 });

// @ts-expect-error the input is missing
schedule("f", { cron: "@daily", start: report });
// @ts-expect-error the input must be a string
schedule("g", { cron: "@daily", start: report, input: 5 });
// @ts-expect-error the function returns a number
schedule("h", { cron: "@daily", start: report, input: (time) => time.getTime() });
// @ts-expect-error an unknown policy
schedule("i", { cron: "@daily", start: tidy, overlap: "wait" });
// @ts-expect-error an unknown option
schedule("j", { cron: "@daily", start: tidy, timeZone: "UTC" });
