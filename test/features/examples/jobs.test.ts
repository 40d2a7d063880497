// The jobs example prints what its README shows; failed jobs are run again, and a customer with many files delays no other.

import { expect, test } from "vitest";
import { mail, thumbnail } from "../../../examples/jobs/jobs.ts";
import { Perdure } from "../../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("jobs");
  expect(printed).toBe(promisedOutput("jobs"));
  expect(complaints).toBe("");
});

test("jobs wait in the store until a worker runs", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [mail, thumbnail],
    autoStart: false,
    runtime: { log: () => undefined },
  });
  const { client } = perdure;
  const sent = await client.enqueue(mail, "ada@example.com");
  await client.enqueueMany(thumbnail, [{ input: "a.png", key: "c" }]);
  expect(await client.queues()).toMatchObject([
    { name: "mail", depth: 1 },
    { name: "thumbnail", depth: 1 },
  ]);
  await perdure.runtime.start();
  expect(await sent.result()).toContain("attempt 2");
});
