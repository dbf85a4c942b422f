"""Images as rows of pixels, small enough for thousands of them."""

from collections.abc import Sequence
from io import BytesIO
from types import ModuleType

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput

Pixels = npt.NDArray[np.uint8]


def shrunk(images: Pixels, size: int) -> Pixels:
    """Rows of pixels of (n, h, w) or (n, h, w, colours); larger images are reduced to ``size`` a side."""
    n, height, width = images.shape[:3]
    if height > size or width > size:
        image = _pillow()
        side = (min(width, size), min(height, size))
        plain = images[..., 0] if images.shape[3:] == (1,) else images
        smaller = image.Resampling.BILINEAR
        images = np.array([np.asarray(image.fromarray(one).resize(side, smaller)) for one in plain])
    return images.reshape(n, -1)


def decoded(blobs: Sequence[bytes | None], size: int) -> Pixels:
    """Rows of red, green and blue pixels of encoded images (JPEG, PNG, ...).

    All get the height and width of the first, or ``size`` where that is less; proportions are not kept.
    """
    image = _pillow()
    rows: Pixels | None = None
    side = (0, 0)
    for i, blob in enumerate(blobs):
        try:
            with image.open(BytesIO(blob or b"")) as one:
                if rows is None:
                    side = (min(one.width, size), min(one.height, size))
                    rows = np.empty((len(blobs), side[0] * side[1] * 3), dtype=np.uint8)
                one.draft("RGB", side)  # a JPEG can be decoded at a fraction of its size
                rows[i] = np.asarray(one.convert("RGB").resize(side, image.Resampling.BILINEAR)).ravel()
        except (OSError, ValueError, SyntaxError, image.DecompressionBombError):
            has = "no image" if not blob else "an image that cannot be decoded"
            raise BadInput(
                f"data.keys.rows: row {i} (the first is 0) holds {has}; mend or remove the row"
            ) from None
    return np.empty((0, 0), dtype=np.uint8) if rows is None else rows


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise BadInput("data.source: images need Pillow; run: pip install 'leakgauge[federated]'") from None
    return Image
