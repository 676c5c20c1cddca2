import type { Command, Option } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** The words that may follow in a line. Each pattern is of `<command> <word before the cursor> <word at the cursor>`. */
interface Rule {
  readonly patterns: readonly string[]
  /** The words; the services that are installed; or none, for the name of a file, which the shell completes. */
  readonly words: readonly string[] | 'services'
}

const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

/** The script that a shell sources: the commands and the options of the program are words in it. */
export function formatCompletion(program: Command, shell: Shell): string {
  const rules = [
    // Where the command itself is typed there is none yet.
    { patterns: [' * -*'], words: optionsOf(program) },
    { patterns: [' *'], words: program.commands.map((command) => command.name()) },
    ...program.commands.flatMap(rulesOf),
  ]
  return SCRIPTS[shell](rules.filter(({ patterns }) => patterns.length > 0))
}

function rulesOf(command: Command): Rule[] {
  const name = command.name()
  const after = ({ long, short }: Option) =>
    [long, short].flatMap((flag) => (flag ? [`${name} ${flag} *`] : []))
  const taking = command.options.filter(({ required, optional }) => required || optional)
  const [argument] = command.registeredArguments
  const operands = argument?.name() === 'METHOD' ? HTTP_METHODS : argument?.argChoices
  return [
    ...taking.flatMap((option) =>
      option.argChoices ? [{ patterns: after(option), words: option.argChoices }] : [],
    ),
    { patterns: taking.filter(({ argChoices }) => !argChoices).flatMap(after), words: [] },
    { patterns: [`${name} * -*`], words: optionsOf(command) },
    ...(operands === undefined ? [] : [{ patterns: [`${name} ${name} *`], words: operands }]),
    ...(namesService(command) ? [{ patterns: [`${name} *`], words: 'services' as const }] : []),
  ]
}

const namesService = (command: Command): boolean =>
  command.name() === 'uninstall' || command.registeredArguments.some((one) => one.name() === 'service')

const optionsOf = ({ options }: Command): string[] => [
  ...options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''),
  '--help',
]

const SERVICES = '$(scriptify services --only-names 2>/dev/null)'

/** The rules as the branches of a `case` in bash and zsh. */
const casesOf = (rules: readonly Rule[]): string =>
  rules
    .map(({ patterns, words }) => {
      const pattern = patterns.map((one) => one.replaceAll(' ', '\\ ')).join('|')
      return `    ${pattern}) found=(${words === 'services' ? SERVICES : words.join(' ')}) ;;`
    })
    .join('\n')

const FILES_IN_FISH = '__fish_complete_path (commandline -ct)'

function inFish(words: Rule['words']): string {
  if (words === 'services') return 'scriptify services --only-names 2>/dev/null'
  return words.length === 0 ? FILES_IN_FISH : `printf '%s\\n' ${words.join(' ')}`
}

const SCRIPTS: Record<Shell, (rules: readonly Rule[]) => string> = {
  bash: (rules) => `# Completion of scriptify. In ~/.bashrc: source <(scriptify completion bash)
_scriptify() {
  local current=\${COMP_WORDS[COMP_CWORD]} command=\${COMP_WORDS[1]} found=()
  ((COMP_CWORD == 1)) && command=
  case "$command \${COMP_WORDS[COMP_CWORD-1]} $current" in
${casesOf(rules)}
  esac
  COMPREPLY=($(compgen -W "\${found[*]}" -- "$current"))
}
complete -o default -F _scriptify scriptify
`,
  zsh: (rules) => `#compdef scriptify
# Completion of scriptify. In ~/.zshrc, after compinit: source <(scriptify completion zsh)
_scriptify() {
  local command=$words[2]
  local -a found
  ((CURRENT == 2)) && command=
  case "$command $words[CURRENT-1] $words[CURRENT]" in
${casesOf(rules)}
  esac
  if (($#found)); then compadd -a found; else _files; fi
}
if [[ \${funcstack[1]} == _scriptify ]]; then
  _scriptify "$@"
else
  compdef _scriptify scriptify
fi
`,
  fish: (
    rules,
  ) => `# Completion of scriptify. In ~/.config/fish/config.fish: scriptify completion fish | source
function __scriptify_complete
    set -l before (commandline -opc)
    set -l command $before[2]
    test (count $before) = 1; and set command ''
    set -l current (commandline -ct)
    switch "$command $before[-1] $current"
${rules
  .map(
    ({ patterns, words }) =>
      `        case ${patterns.map((one) => `'${one}'`).join(' ')}\n            ${inFish(words)}`,
  )
  .join('\n')}
        case '*'
            ${FILES_IN_FISH}
    end
end
complete -c scriptify -f -a '(__scriptify_complete)'
`,
}
