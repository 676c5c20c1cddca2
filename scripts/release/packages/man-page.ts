import { readHelp } from '../../docs/command-line.ts'

/** The columns of a terminal, less the indentation of a paragraph. */
const WIDTH = 72

/** The manual page scriptify(1): the help of every command, in the language of roff. */
export async function formatManPage(version: string): Promise<string> {
  const [program, ...commands] = await readHelp(WIDTH)
  return [
    `.TH SCRIPTIFY 1 "" "scriptify ${version}" "User Commands"`,
    '.SH NAME',
    'scriptify \\- terminals, methods and system services, in PHP and TypeScript',
    '.SH DESCRIPTION',
    preformatted(program?.help ?? ''),
    ...commands.flatMap(({ title, help }) => [`.SH ${title.toUpperCase()}`, preformatted(help)]),
    '',
  ].join('\n')
}

/** A line that begins with a dot or an apostrophe would be a request. */
const preformatted = (text: string): string =>
  `.nf\n${text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')}\n.fi`
