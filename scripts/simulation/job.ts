// A job process: simulates the ranges of seeds that its parent sends, one after another, until the parent
// disconnects.

import { simulate } from "../../src/testing/simulation/index.ts";
import { withChoice } from "./choice.ts";
import type { FromJob, SeedRange } from "./jobs.ts";

const say = (message: FromJob): void => void process.send?.(message);

process.on("disconnect", () => process.exit()); // also if the parent was killed
process.on("message", ({ choice, ...range }: SeedRange) => {
  const report = withChoice(choice, (chosen) =>
    simulate({
      ...chosen,
      ...range,
      onRun: ({ seed, violations }) => say({ kind: "ran", seed, violations }),
    }),
  );
  report.then(
    (done) => say({ kind: "report", report: done }),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
