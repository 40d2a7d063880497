const { orchestration, Perdure } = require("perdure");

const hello = orchestration("hello", async (_ctx, name) => `Hello, ${name}`);

async function main() {
  await using perdure = await Perdure.open("sqlite::memory:", { register: [hello] });
  const handle = await perdure.client.start(hello, "Ada");
  console.log(await handle.result());
}

void main();
