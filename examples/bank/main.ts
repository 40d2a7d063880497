// node examples/bank/main.ts [FILE]: transfers that work, that are refused, and a hundred of them at once.

import { Perdure } from "../../src/index.ts";
import { account, transfer } from "./bank.ts";

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [account, transfer],
});
const { client } = perdure;
const ada = client.entity(account, "ada");
const bob = client.entity(account, "bob");
const eve = client.entity(account, "eve");

console.log(`ada begins with ${await ada.balance()} cents`); // a read creates nothing
const salary = { cents: 1_000, text: "salary" };
console.log(`salary: ${await ada.deposit(salary, { requestId: "salary-2026-11" })} cents`);
console.log(`sent again: ${await ada.deposit(salary, { requestId: "salary-2026-11" })} cents`);

console.log(await pay("ada", "bob", 300));
console.log(await pay("bob", "ada", 500));
await eve.freeze();
console.log(await pay("ada", "eve", 100));
console.log((await ada.bookings()).join(", "));

const many = Array.from({ length: 100 }, (_, index) =>
  index % 2 === 0 ? pay("ada", "bob", 7) : pay("bob", "ada", 5),
);
await Promise.all(many);
const [a, b] = [await ada.balance(), await bob.balance()];
console.log(`after 100 transfers at once: ada ${a}, bob ${b}, together ${a + b}`);

async function pay(from: string, to: string, cents: number): Promise<string> {
  const handle = await client.start(transfer, { from, to, cents });
  return handle.result().catch((error: Error) => `refused: ${error.message}`);
}
