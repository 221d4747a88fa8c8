/** The package ships no types; this is the part of it that is used. */
declare module "snowball-stemmers" {
  export function newStemmer(language: "english"): { stem(word: string): string };
}
