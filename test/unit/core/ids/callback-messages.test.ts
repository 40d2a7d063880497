// The message that carries the value of a callback: its name, its key and its contents.

import { expect, test } from "vitest";
import {
  callbackMessageName,
  callbackRequestId,
  callbackSequence,
  isCallbackMessage,
  parseCallbackMessage,
} from "../../../../src/core/ids/callback-messages.ts";

test("the name of the message leads back to the event that created the callback", () => {
  const name = callbackMessageName(42);
  expect([isCallbackMessage(name), callbackSequence(name)]).toEqual([true, 42]);
  expect(["paid", "", "paid perdure.callback:"].map(isCallbackMessage)).toEqual(
    Array(3).fill(false),
  );
});

test("each call of each execution of each run has its own request id", () => {
  const call = { runId: "r", execution: 1, sequence: 2 };
  const others = [
    call,
    { ...call, runId: "s" },
    { ...call, execution: 2 },
    { ...call, sequence: 3 },
  ];
  expect(new Set(others.map(callbackRequestId)).size).toBe(4);
});

test("a text that is not the value of a callback is refused", () => {
  const message = { value: "1", headers: "{}" };
  expect(parseCallbackMessage(JSON.stringify(message))).toEqual(message);
  expect(parseCallbackMessage('{"value":""}')).toEqual({ value: "" });
  for (const text of ["", "null", "7", '"value"', "[]", "{}", '{"value":7}', '{"value":null}']) {
    expect(() => parseCallbackMessage(text)).toThrow();
  }
  expect(() => parseCallbackMessage("null")).toThrow("not the value of a callback");
  expect(() => parseCallbackMessage('"value"')).toThrow("not the value of a callback");
});
