// node examples/time-outs/main.ts [FILE]: three ways to give up on something slow.

import { Perdure } from "../../src/index.ts";
import { ask, bounded, patient, strict } from "./report.ts";

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [patient, strict, bounded, ask],
});
const { client } = perdure;

const slowAtFirst = { name: "the archive", answersAfterMs: [60_000, 10] };
const never = { name: "the moon", answersAfterMs: [60_000] };
const fast = { name: "the desk", answersAfterMs: [10] };

const [first, second, third] = await Promise.all([
  client.start(patient, slowAtFirst),
  client.start(strict, never),
  client.start(bounded, [fast, never, slowAtFirst]),
]);
console.log("a timeout per attempt:", await first.result());
console.log("a timeout for the call:", await second.result());
console.log("a deadline for all calls:", await third.result());
