// The form of a request whose schema has a JSON Schema.

import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  fieldOfPath,
  formOf,
  initialTexts,
  textsOf,
  valueOfForm,
} from "../../../ui/src/forms/form-shape.ts";
import { useScene } from "./support/scene.ts";
import { waiter } from "./support/shop.ts";
import { until } from "./support/world.ts";

describe("the fields of a form", () => {
  const schema = {
    type: "object",
    properties: {
      text: { type: "string", default: "a" },
      count: { type: "integer", title: "How many" },
      flag: { type: "boolean" },
      size: { enum: ["s", "m", null] },
      level: { anyOf: [{ const: 1 }, { const: 2 }] },
      lines: { type: "array", items: { type: "string" } },
      either: { anyOf: [{ type: "string" }, { type: "null" }] },
    },
    required: ["text", "flag"],
  };

  test("fit the parts of the schema; JSON fits the others", () => {
    const kinds = formOf(schema)?.fields.map(({ name, kind, label }) => [name, kind, label]);
    expect(kinds).toEqual([
      ["text", "text", "text"],
      ["count", "number", "How many"],
      ["flag", "boolean", "flag"],
      ["size", "choice", "size"],
      ["level", "choice", "level"],
      ["lines", "json", "lines"],
      ["either", "json", "either"],
    ]);
  });

  test("an empty optional field is absent, a required text is empty, a required boolean is false", () => {
    const form = formOf(schema);
    if (form === null) throw new Error("there is no form");
    const initial = initialTexts(form);
    expect(valueOfForm(form, initial)).toEqual({
      kind: "value",
      value: { text: "a", flag: false },
    });
    const value = {
      text: "",
      count: 1.5,
      flag: true,
      size: null,
      level: 2,
      lines: ["x"],
      either: "y",
    };
    const texts = textsOf(form, value);
    expect(texts).toMatchObject({ text: "", count: "1.5", size: "null", lines: '["x"]' });
    expect(valueOfForm(form, texts ?? {})).toEqual({ kind: "value", value });
    expect(valueOfForm(form, { ...texts, count: "two" })).toMatchObject({ kind: "wrong" });
    expect(valueOfForm(form, { ...texts, lines: "[" })).toMatchObject({ kind: "wrong" });
  });

  test("a value that does not fit the fields has no texts", () => {
    const form = formOf(schema);
    if (form === null) throw new Error("there is no form");
    for (const value of [null, [], "a", { other: 1 }, { text: 1 }, { count: "1" }, { size: "l" }]) {
      expect([value, textsOf(form, value)]).toEqual([value, null]);
    }
  });

  test("schemas without useful fields have no form", () => {
    const useless = [
      null,
      "text",
      {},
      { type: "object" },
      { type: "object", properties: {} },
      { type: "object", additionalProperties: { type: "number" } },
      { type: "array", items: {} },
      { type: "object", properties: { a: {} }, anyOf: [] },
      { $ref: "#/$defs/a" },
    ];
    for (const each of useless) expect([each, formOf(each)]).toEqual([each, null]);
  });

  test("the field of a path is its first segment", () => {
    expect(["$.a", "$.a[0].b", '$["a b"].c', "$", ""].map(fieldOfPath)).toEqual([
      "a",
      "a",
      "a b",
      undefined,
      undefined,
    ]);
  });
});

describe("a request with a JSON Schema", () => {
  const scene = useScene();

  async function opened(id: string, request: string, options = {}): Promise<Page> {
    await scene.world.perdure.client.start(waiter, undefined, { id });
    await until(scene.world.perdure, id, ({ waitingFor }) => waitingFor.length === 1);
    const { page } = await scene.show(`/instances/${id}`, options);
    await page.getByRole("button", { name: `Ask ${request}` }).click();
    return page;
  }
  const answerOf = (dialog: Locator): Locator => dialog.getByRole("region", { name: "Answer" });

  test("is asked in a form, by keyboard", async () => {
    const page = await opened("form", "reserve");
    const dialog = page.getByRole("dialog");
    const guest = dialog.getByLabel("guest");
    expect(await guest.getAttribute("aria-required")).toBe("true");
    await dialog.getByText("The name at the door.").waitFor();
    await guest.fill("Ada");
    await page.keyboard.press("Tab");
    await page.keyboard.type("2");
    await page.keyboard.press("Tab");
    await page.keyboard.type("gar");
    await dialog.getByLabel("quiet (optional)").selectOption("Yes");
    await dialog.getByLabel("contact (optional)").fill('{"phone": "+49"}');
    await guest.press("Enter");
    const answer = answerOf(dialog);
    await answer.getByText("+49").waitFor();
    const text = await answer.innerText();
    for (const part of ["Ada", "seats: 2", "garden", "true"]) expect(text).toContain(part);
    expect(text).not.toContain("note");
  });

  test("shows a refusal at the field that it is about", async () => {
    const page = await opened("refused", "reserve");
    const dialog = page.getByRole("dialog");
    const ask = dialog.getByRole("button", { name: "Ask" });
    const invalid = dialog.locator("[aria-invalid=true]");
    await dialog.getByLabel("guest").fill("A");
    await dialog.getByLabel("seats").fill("two");
    await dialog.getByText('"two" is not a number.').waitFor();
    expect(await ask.isDisabled()).toBe(true);
    await dialog.getByLabel("seats").fill("2");
    await dialog.getByLabel("area").selectOption("inside");
    await ask.click();
    await dialog.getByText(/^Refused: .*guest: Invalid length/).waitFor();
    expect(await invalid.count()).toBe(1);
    expect(await dialog.getByLabel("guest").getAttribute("aria-invalid")).toBe("true");
    await dialog.getByLabel("guest").fill("Ada");
    expect(await invalid.count()).toBe(0);
    await dialog.getByLabel("contact (optional)").fill('{"phone": "49"}');
    await ask.click();
    await dialog.getByText(/^Refused: .*contact.phone: Invalid start/).waitFor();
    expect(await dialog.getByLabel("contact (optional)").getAttribute("aria-invalid")).toBe("true");
  });

  test("can be entered as JSON instead, and back in the form if it fits", async () => {
    const page = await opened("switched", "reserve");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("guest").fill("Ada");
    await dialog.getByLabel("seats").fill("2");
    await dialog.getByRole("button", { name: "Enter as JSON" }).click();
    const input = dialog.getByLabel("Input");
    expect(JSON.parse(await input.inputValue())).toEqual({ guest: "Ada", seats: 2 });
    const back = dialog.getByRole("button", { name: "Enter in the form" });
    await input.fill('{"guest": "Bob", "other": 1}');
    expect(await back.isDisabled()).toBe(true);
    await input.fill('{"guest": "Bob", "area": "garden"}');
    await back.click();
    expect(await dialog.getByLabel("guest").inputValue()).toBe("Bob");
    expect(await dialog.getByLabel("seats").inputValue()).toBe("");
    await dialog.getByRole("button", { name: "Ask" }).click();
    await dialog.getByText(/^Refused: .*seats/).waitFor();
  });

  test("with a schema of one value has one field, also on a phone", async () => {
    const page = await opened("one", "cancel table", { viewport: { width: 390, height: 800 } });
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Guest").fill("Ada");
    await dialog.getByRole("button", { name: "Ask" }).click();
    await answerOf(dialog).getByText("Ada").waitFor();
    await dialog.getByLabel("Request").fill("reserve");
    await dialog.getByLabel("area").waitFor();
    const scrolls = await page.evaluate(
      "document.documentElement.scrollWidth > document.documentElement.clientWidth",
    );
    expect(scrolls).toBe(false);
  });
});
