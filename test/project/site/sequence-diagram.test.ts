// Sequence diagrams are drawn completely, or refused.

import { expect, test } from "vitest";
import { drawSequence } from "../../../scripts/site/sequence-diagram.ts";

test("participants, messages, self-messages and notes are drawn, with their text escaped", () => {
  const svg = drawSequence(`sequenceDiagram
    participant A as Ada
    participant B as Bob & Co
    A->>B: one<br/>two
    B-->>A: a < b
    A->>A: thinks
    Note over A,B: both
  `);
  for (const text of ["Ada", "Bob &amp; Co", "one", "two", "a &lt; b", "thinks", "both"]) {
    expect(svg).toContain(`>${text}</text>`);
  }
  expect(svg.match(/marker-end/g)).toHaveLength(3);
  expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
});

test.each([
  ["A->>B: hello", /no participant A/],
  ["loop forever", /not understood: loop forever/],
])("%s is refused", (line, message) => {
  expect(() => drawSequence(`sequenceDiagram\n${line}`)).toThrow(message);
});
