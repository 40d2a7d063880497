import { expect, test } from "vitest";
import { maskAddress, maskSecrets } from "../../../../src/core/values/secrets.ts";

test.each([
  ["postgres://ada:secret@host:5432/db", "postgres://ada:***@host:5432/db"],
  ["postgresql://ada:se@cr:et@host/db", "postgresql://ada:***@host/db"],
  ["postgres://host/db?user=ada&password=secret", "postgres://host/db?user=ada&password=***"],
  ["postgres://ada@host/db", "postgres://ada@host/db"],
  [
    "postgres://ada@host/db?perdure.listen=postgres%3A%2F%2Fada%3Asecret%40db&x=1",
    "postgres://ada@host/db?perdure.listen=***&x=1",
  ],
  ["postgres://ada@host:5432/db?options=a@b", "postgres://ada@host:5432/db?options=a@b"],
  ["postgres://host:5432/db?user=ada@eu", "postgres://host:5432/db?user=ada@eu"],
  ["postgres://:secret@host/db", "postgres://:***@host/db"],
  ["postgres://ada:se/cret@host/db", "postgres://ada:***@host/db"],
  ["postgres://ada:12/cret@host/db", "postgres://ada:***@host/db"],
  ["postgres://ada:se?cret@host/db", "postgres://ada:***@host/db"],
  ["postgres://ada:12#cret@host/db", "postgres://ada:***@host/db"],
  ["postgres://ada:secret@a:1,b:2/db", "postgres://ada:***@a:1,b:2/db"],
  ["postgress://ada:secret@host/db", "postgress://ada:***@host/db"],
  ["postgres:/ada:secret@host/db", "postgres:/ada:***@host/db"],
  ["postgres:ada:secret@host/db", "postgres:ada:***@host/db"],
  ["postgres//ada:secret@host/db", "postgres//ada:***@host/db"],
  [" postgres://ada:secret@host/db", " postgres://ada:***@host/db"],
  ["ada:secret@host/db", "ada:***@host/db"],
  ["mysql://ada:sec\nret@host", "mysql://ada:***@host"],
  ["host=h user=ada password=secret", "host=h user=ada password=***"],
  ["host=h passwrod='sec ret' user=ada", "host=h passwrod=*** user=ada"],
  ["host=h pasword = secret", "host=h pasword = ***"],
  ["postgres://h/d?sslpassword=secret&PassWord=x", "postgres://h/d?sslpassword=***&PassWord=***"],
  ["sqlite:./a:b@c.db", "sqlite:./a:b@c.db"],
  ["sqlite:./orders.db", "sqlite:./orders.db"],
  ["./orders.db", "./orders.db"],
])("%j is shown as %j (secrets.1)", (address, shown) => expect(maskAddress(address)).toBe(shown));

test.each([
  [
    'unknown command "postgres://ada:secret@host/db"',
    'unknown command "postgres://ada:***@host/db"',
  ],
  ["neither postgress:/ada:s@e@h nor this", "neither postgress:/ada:***@h nor this"],
  ["got ada:secret@host:5432/db.", "got ada:***@host:5432/db."],
  ["bad option 'password=secret'", "bad option 'password=***'"],
  ["There is no instance order:7@eu.", "There is no instance order:7@eu."],
  ["the password is wrong", "the password is wrong"],
  ["see https://example.com/a:b", "see https://example.com/a:b"],
])("in a text, %j becomes %j (secrets.2)", (text, shown) => expect(maskSecrets(text)).toBe(shown));
