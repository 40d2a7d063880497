import { expect, test } from "vitest";
import { chooseStore, looksLikeAddress } from "../../../src/cli/store/store-address.ts";

test("a relative path in a config is resolved from the config's folder; a given one stays relative (store-address.1)", () => {
  const config = { path: "/project/perdure.config.ts", config: { store: "sqlite:./x.db" } };
  const choose = (given?: string) => chooseStore({ given, env: {}, config });
  expect(choose()).toEqual({ kind: "address", address: "sqlite:/project/x.db" });
  expect(choose("sqlite:./x.db")).toEqual({ kind: "address", address: "sqlite:./x.db" });
});

test("an address is distinguished from a file name", () => {
  expect(["sqlite:a", "postgres://h/d"].every(looksLikeAddress)).toBe(true);
  expect(["a.history", "./a:b", "C:\\a.history"].some(looksLikeAddress)).toBe(false);
});
