"""What shells run to complete a line: they ask `moldau completion candidates` and offer what it says."""

from __future__ import annotations

from typing import Final

_BASH: Final = r"""_moldau() {
    local -a lines
    mapfile -t lines < <(moldau completion candidates --line "${COMP_LINE:0:COMP_POINT}" \
        --breaks "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
    COMPREPLY=()
    case "${lines[0]}" in
        files) compopt -o default ;;
        directories) compopt -o dirnames ;;
        *)
            COMPREPLY=("${lines[@]:1}")
            if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
            ;;
    esac
}
complete -F _moldau moldau
"""

_ZSH: Final = r"""#compdef moldau
_moldau() {
    local -a lines names shown
    local line
    lines=("${(@f)$(moldau completion candidates -- "${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
    case "$lines[1]" in
        files) _files ;;
        directories) _files -/ ;;
        *)
            for line in "${(@)lines[2,-1]}"; do
                [[ -z "$line" ]] && continue
                names+=("${line%%$'\t'*}")
                shown+=("${line/$'\t'/  -- }")
            done
            compadd -l -d shown -a names
            ;;
    esac
}
if [[ "$funcstack[1]" == _moldau ]]; then
    _moldau "$@"
else
    compdef _moldau moldau
fi
"""

_FISH: Final = r"""function __moldau_complete
    set -l current (commandline -ct)
    set -l before (commandline -opc)
    set -l lines (moldau completion candidates -- $before[2..-1] "$current" 2>/dev/null </dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case directories
            __fish_complete_directories "$current"
        case '*'
            printf '%s\n' $lines[2..-1]
    end
end
complete -c moldau -f -a '(__moldau_complete)'
"""

SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
