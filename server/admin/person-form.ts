/** The fields with which somebody says who they are and chooses a password. */
import type { Request } from "express";
import { passwordProblem } from "../people/password.ts";
import { nameProblem, plainUsername, usernameProblem } from "../people/people.ts";
import { fieldOf } from "./pages.ts";

export type PersonField = "name" | "username" | "password" | "current";

export interface FilledPerson {
  name: string;
  username: string;
}

export interface FieldProblem {
  readonly field: PersonField;
  readonly text: string;
}

/** The name and username of a form. */
export function filledOf(request: Request): FilledPerson {
  return {
    name: fieldOf(request.body, "name").normalize("NFC").trim(),
    username: plainUsername(fieldOf(request.body, "username")),
  };
}

/** What is wrong with a form. @param asksWho whether name and username are asked, too */
export function personProblems(filled: FilledPerson, password: string, asksWho: boolean): FieldProblem[] {
  const found: [PersonField, string | undefined][] = [
    ["name", asksWho ? nameProblem(filled.name) : undefined],
    ["username", asksWho ? usernameProblem(filled.username) : undefined],
    ["password", passwordProblem(password, filled)],
  ];
  return found.flatMap(([field, text]) => (text === undefined ? [] : [{ field, text }]));
}

/** What the views need of problems. */
export function problemData(problems: readonly FieldProblem[]) {
  return { problems, problemOf: Object.fromEntries(problems.map(({ field, text }) => [field, text])) };
}
