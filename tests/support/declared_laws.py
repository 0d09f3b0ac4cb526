"""Examples of the noise laws in the catalogue, so that tests find every law there is."""

import ast
import inspect

from meseta.noise.catalogue import LAWS


def examples():
    """The law that each example gives, by its name."""
    names = {law.python: law.load() for law in LAWS}
    return {law.name: eval(law.example, names) for law in LAWS}


def untested(tested):
    """Examples of the laws whose class is not among those that are tested anyway."""
    classes = {type(law) for law in tested}
    return {name: law for name, law in examples().items() if type(law) not in classes}


def as_table(example):
    """The example as a table of a study file: arguments by their names."""
    return _table(ast.parse(example, mode="eval").body)


def _table(call):
    (law,) = [law for law in LAWS if law.python == call.func.id]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    bound = inspect.signature(law.load()).bind(*call.args, **given)
    keys = [f"{key} = {_value(value)}" for key, value in bound.arguments.items()]
    return "{ " + ", ".join([f'law = "{law.name}"', *keys]) + " }"


def _value(node):
    if isinstance(node, ast.Call):
        return _table(node)
    if isinstance(node, ast.List):
        return f"[{', '.join(map(_value, node.elts))}]"
    value = ast.literal_eval(node)
    return str(value).lower() if isinstance(value, bool) else repr(value)
