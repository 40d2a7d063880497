import { expect, test } from "vitest";
import {
  type Carried,
  rewoundInstances,
  withoutRepeatedRewinds,
} from "../../../../src/testing/simulation/calls.ts";

/** Which instances this commit's rewind to execution 3 began again, as the inspector sees it. */
function begunAgain(newestExecution: number | undefined): readonly string[] {
  const items = [{ kind: "rewind", id: "order", targets: [{ id: "order" }, { id: "child" }] }];
  const result = [{ kind: "rewound", execution: 3 }];
  // Only the fields that both functions read.
  const call = { method: "commit", args: [items], result } as unknown as Carried;
  return rewoundInstances(withoutRepeatedRewinds(call, () => newestExecution));
}

test("a new rewind begins its targets again", () => {
  expect(begunAgain(2)).toEqual(["order", "child"]);
  expect(begunAgain(undefined)).toEqual(["order", "child"]);
});

test("a repeated rewind begins nothing, even if the instance was rewound again since", () => {
  expect(begunAgain(3)).toEqual([]);
  expect(begunAgain(4)).toEqual([]);
});
