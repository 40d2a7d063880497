// W8, `sleeping-giants`: accept → delay → wake → final. The figure is how late a flow woke, measured from the begin of
// its submission plus the delay: it includes the time of submitting and accepting.

import { flow } from "../../../src/flow/index.ts";
import { giantSleepMs } from "../../sizes.ts";
import { quantile } from "../../statistics.ts";
import type { Run } from "../../subject.ts";
import { measureShape, newWatch, next, Times, type Payload } from "../../support/shapes.ts";

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
