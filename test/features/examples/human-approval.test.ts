// The human-approval example prints what its README shows. The other tests cover the outcomes that the program omits.

import { expect, test } from "vitest";
import { decision, expense, pay, type Expense } from "../../../examples/human-approval/expense.ts";
import { activity } from "../../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";
import { DAY, HOUR, openVirtualDays } from "./virtual-days.ts";

const CHAIR: Expense = { what: "a chair", cents: 5, approvers: ["ada", "grace"], reminders: 2 };

function quietNotify() {
  const mails: string[] = [];
  const notify = activity("notify", async (mail: { to: string; text: string }) => {
    mails.push(`${mail.to}: ${mail.text}`);
  });
  return { mails, notify };
}

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("human-approval");
  expect(printed).toBe(promisedOutput("human-approval"));
  expect(complaints).toBe("");
});

test("a rejection ends the expense at once, and nothing is paid", async () => {
  const { mails, notify } = quietNotify();
  await using days = await openVirtualDays([expense, pay, notify]);
  const handle = await days.perdure.client.start(expense, CHAIR);
  await days.environment.advance(HOUR);
  await handle.raise(decision, { by: "ada", approved: false });
  await days.environment.settle();
  expect(await handle.result({ timeout: 0 })).toEqual({ status: "rejected", by: "ada" });
  expect(mails).toEqual(["ada: please approve a chair"]);
  expect((await handle.history()).filter(({ kind }) => kind === "ActivityScheduled")).toHaveLength(
    1,
  );
});

test("without an answer each approver is asked and reminded in turn, and then the expense ends unanswered", async () => {
  const { mails, notify } = quietNotify();
  await using days = await openVirtualDays([expense, pay, notify]);
  const handle = await days.perdure.client.start(expense, CHAIR);
  await days.environment.advance(6 * DAY + HOUR);
  expect(await handle.result({ timeout: 0 })).toEqual({ status: "nobody answered" });
  const round = (who: string) => [
    `${who}: please approve a chair`,
    `${who}: reminder 1`,
    `${who}: reminder 2`,
  ];
  expect(mails).toEqual([...round("ada"), ...round("grace")]);
});
