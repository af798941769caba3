"""A contract for import-linter that its own kinds cannot say: what may be imported from outside, and nothing else.

A list of what is forbidden is never complete, and whatever it forgets is open. So the contract `only` names what is
open: modules of the standard library and packages by their first name. `standard_library = true` opens all of Python's
own and leaves the packages to the list. `exceptions` are single imports, each of which must exist.
"""

from __future__ import annotations

import sys
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application import contract_utils
from importlinter.application.contract_utils import AlertLevel
from importlinter.domain.helpers import module_expressions_to_modules


class OnlyContract(Contract):
    type_name = "only"

    source_modules = fields.SetField(subfield=fields.ModuleExpressionField())
    allowed_modules = fields.SetField(subfield=fields.StringField(), required=False, default=set())
    standard_library = fields.BooleanField(required=False, default=False)
    exceptions = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        removal = contract_utils.remove_ignored_imports_and_report(
            graph=graph, ignore_imports=self.exceptions or set(), unmatched_alerting=AlertLevel.ERROR
        )
        allowed = self.allowed_modules | (sys.stdlib_module_names if self.standard_library else frozenset())
        found = [
            (importer, imported)
            for source in module_expressions_to_modules(graph, self.source_modules)
            for importer in (source.name, *graph.find_descendants(source.name))
            for imported in graph.find_modules_directly_imported_by(importer)
            if self._is_outside(imported) and imported.partition(".")[0] not in allowed
        ]
        return ContractCheck(
            kept=not found,
            warnings=list(removal.warnings),
            ignored_import_count=removal.ignored_import_count,
            metadata={"found": [(pair, self._lines(graph, *pair)) for pair in sorted(set(found))]},
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        for (importer, imported), lines in check.metadata["found"]:
            output.print_error(f"{importer} -> {imported} (l.{lines}) is not open here")
        output.new_line()

    def _is_outside(self, name: str) -> bool:
        return name.partition(".")[0] not in self.session_options["root_packages"]

    @staticmethod
    def _lines(graph: ImportGraph, importer: str, imported: str) -> str:
        details: list[Any] = list(graph.get_import_details(importer=importer, imported=imported))
        return ", ".join(str(detail["line_number"]) for detail in details)
