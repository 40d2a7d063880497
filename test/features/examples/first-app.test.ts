// The first app: its program prints what its README shows, its own tests pass (docs/first-app.md shows them), and its
// config runs as a worker.

import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { Project } from "../../interfaces/cli/support.ts";
import { projectRoot } from "../../support/source-files.ts";
import { promisedOutput, runExample } from "./example-runs.ts";
import "../../../examples/first-app/shop.test.ts";

vi.spyOn(console, "log").mockImplementation(() => undefined); // the activities print lines

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("first-app");
  expect(printed).toBe(promisedOutput("first-app"));
  expect(complaints).toBe("");
});

test("a worker runs the config, and an order that waits for approval survives its kill", async () => {
  const project = new Project();
  const config = join(projectRoot, "examples/first-app/perdure.config.ts");
  const worker = () => project.start(["worker", "--config", config]);
  const first = worker();
  await first.says(/worker ready/);
  const piano = '{"id":"o-3","customer":"ada","sku":"piano","cents":900000}';
  const start = await project.run(["start", "checkout", "--input", piano, "--id", "o-3"]);
  expect(start.code).toBe(0);
  await first.says(/mail to manager: approve o-3\?/);
  // Killed before the outcome of the mail is on disk, the worker would rightly be followed by a second mail.
  await expect.poll(async () => (await project.run(["get", "o-3"])).stdout).toContain("decision");
  first.kill("SIGKILL");
  await first.ended;

  const second = worker();
  await project.run(["raise", "o-3", "decision", "--data", '{"approved":true}']);
  const { stdout } = await project.run(["watch", "o-3"]);
  expect(stdout).toContain("shipped");
  second.kill("SIGTERM");
  expect(await second.ended).toBe(0);
  expect(second.stdout() + second.stderr()).not.toContain("approve o-3?");
});
