// W8, `sleeping-giants`: accept → delay → wake → final. Told is how late a flow woke, counted from the moment at
// which its submission began, plus the delay: what submitting and accepting took is part of it.

import { flow } from "../../src/index.ts";
import { giantSleepMs } from "../sizes.ts";
import { quantile } from "../statistics.ts";
import type { Run } from "../subject.ts";
import { measureShape, newWatch, next, Times, type Payload } from "./shapes.ts";

export const run: Run = (setting) => {
  const sleepMs = giantSleepMs(setting);
  const watch = { ...newWatch(), woken: new Times() };
  const giants = flow<Payload>("sleeping-giants")
    .then("accept", (payload) => {
      watch.pickedUp.mark(payload.id);
      return next(payload);
    })
    .delay("sleep", sleepMs)
    .then("wake", (payload) => {
      watch.woken.mark(payload.id);
      return next(payload);
    })
    .then("final", next)
    .build();
  return measureShape(setting, {
    ...{ shape: "sleeping-giants", flow: giants, watch, transitions: 4 },
    expected: (id) => ({ id, counter: 3 }),
    latencies: (n) => {
      const late = watch.woken.since(watch.submitted).map((ms) => ms - sleepMs);
      return [
        { metric: "p50Ms", value: quantile(late, 0.5), n },
        { metric: "p99Ms", value: quantile(late, 0.99), n },
      ];
    },
  });
};
