// node examples/flows/main.ts [FILE]: an order that succeeds and one that is undone, an approval, four documents.

import { Perdure } from "../../src/index.ts";
import { approval, approved } from "./approval.ts";
import { pipeline } from "./documents.ts";
import { processing, reserved } from "./orders.ts";

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [processing, approved, pipeline],
});
const { client } = perdure;

const good = await client.start(processing, { id: "17", cents: 1_999, lines: ["tea", "cup"] });
console.log("order 17:", await good.result());
const dear = await client.start(processing, { id: "18", cents: 250_000, lines: ["ring"] });
await dear.result().catch((error: Error) => console.log("order 18:", error.message));
console.log("reserved:", [...reserved]);

const asked = await client.start(approved, "order 17");
await asked.raise(approval, { by: "ada" });
console.log("approval:", await asked.result());

const documents = await client.start(pipeline, ["a", "report", "", "minutes"]);
console.log("documents:", await documents.result());
console.log(`\n${approved.toMermaid()}`);
