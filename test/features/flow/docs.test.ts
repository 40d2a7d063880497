// The examples and diagrams in docs/flows.md match the code of doc-examples.ts.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runFlow } from "../../../src/flow/index.ts";
import { projectRoot } from "../../support/source-files.ts";
import { approved, pipeline, processing } from "./doc-examples.ts";

const page = readFileSync(join(projectRoot, "docs/flows.md"), "utf8");
const source = readFileSync(join(projectRoot, "test/features/flow/doc-examples.ts"), "utf8");

test.each([processing, approved, pipeline])(
  "docs/flows.md shows the code and the diagram of the example $name",
  (flow) => {
    const start = source.indexOf(`export const ${flow.name} =`);
    const end = source.indexOf(".build();", start);
    const code = source.slice(start, end);
    expect(code.length).toBeGreaterThan(100);
    expect(page).toContain(code);
    expect(page).toContain(`\`\`\`mermaid\n${flow.toMermaid()}\`\`\``);
  },
);

test("the examples return what docs/flows.md says", async () => {
  const log = (): void => undefined;
  const order = { id: "42", kind: "card", lines: ["a", "b"] } as const;
  expect(await runFlow(processing, order, { log })).toEqual({ invoice: "invoice r-42", items: 2 });
  const events = [{ name: "approval", data: { by: "ada" } }];
  expect(await runFlow(approved, order, { log, events })).toBe("thank you, ada");
  expect(await runFlow(pipeline, ["x", "y"], { log })).toEqual([
    "x after 2 rounds",
    "y after 2 rounds",
  ]);
});
