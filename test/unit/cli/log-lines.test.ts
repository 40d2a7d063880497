import { expect, test } from "vitest";
import { logLines } from "../../../src/cli/text/log-lines.ts";
import { Screen } from "../../../src/cli/text/screen.ts";

function written(fields: Record<string, unknown>): string {
  let text = "";
  const stream = { isTTY: false, write: (more: string) => (text += more) };
  logLines(new Screen(stream, {}), { json: false, verbose: false })("info", "audit", fields);
  return text;
}

test("S35: text in a field cannot forge another field or another line", () => {
  const forged = 'a actor=root role=admin\naudit actor="root"\u2028\u001b[2K';
  const text = written({ actor: "eve", instance: forged, from: "127.0.0.1" });
  expect(text.match(/ actor=/g)).toHaveLength(3); // one field, and two within quotes
  expect(text).toContain(` actor=eve instance=${JSON.stringify(forged.slice(0, 9)).slice(0, 5)}`);
  expect(text.trimEnd().split(/[\n\u2028]/)).toHaveLength(1);
  expect(text).toContain('\\"root\\"');
  expect(text).toContain(" from=127.0.0.1");
  expect(written({ instance: "", plain: "order-7" })).toContain(' instance="" plain=order-7');
});
