import { expect, test } from "vitest";
import { shortVersion, withoutFlow } from "../../../src/cli/text/flow-names.ts";

test("the functions of a flow are shown by the paths of their nodes", () => {
  expect(withoutFlow("order-flow@7a0d8914/fork.stock/digits#3/upper")).toBe(
    "fork.stock/digits#3/upper",
  );
  expect(withoutFlow("charge")).toBe("charge");
  expect(withoutFlow("mail@home/send")).toBe("mail@home/send");
});

test("the version of a flow is shown with eight digits of its hash", () => {
  expect(shortVersion(`1.0.0+363caa6a${"ef".repeat(28)}`)).toBe("1.0.0+363caa6a…");
  expect(shortVersion("2.1.0")).toBe("2.1.0");
});
