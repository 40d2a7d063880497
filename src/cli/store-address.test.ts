import { expect, test } from "vitest";
import { chooseStore, looksLikeAddress } from "./store-address.ts";

test("a config's relative path is its own; a caller's is the caller's (SA2)", () => {
  const config = { path: "/project/perdure.config.ts", config: { store: "sqlite:./x.db" } };
  const choose = (given?: string) => chooseStore({ given, env: {}, config });
  expect(choose()).toEqual({ kind: "address", address: "sqlite:/project/x.db" });
  expect(choose("sqlite:./x.db")).toEqual({ kind: "address", address: "sqlite:./x.db" });
});

test("an address is told from a file's name", () => {
  expect(["sqlite:a", "postgres://h/d"].every(looksLikeAddress)).toBe(true);
  expect(["a.history", "./a:b", "C:\\a.history"].some(looksLikeAddress)).toBe(false);
});
