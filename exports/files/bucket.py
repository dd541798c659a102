"""Export files in a bucket of an S3-compatible service."""

from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError
from storages.backends.s3 import S3Storage
from storages.utils import clean_name

CONNECT_S, READ_S, ATTEMPTS = 5, 60, 4


class BucketStorage(S3Storage):
    """Reads only a part of an object; django-storages would download the whole object first."""

    def __init__(self, **options: Any) -> None:
        style = "path" if options.get("endpoint_url") else None  # a self-hosted service has no DNS name for each bucket
        config = Config(
            connect_timeout=CONNECT_S,
            read_timeout=READ_S,
            retries={"max_attempts": ATTEMPTS, "mode": "standard"},
            s3={"addressing_style": style},
            # many compatible services reject checksums in trailers, which are new
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        super().__init__(client_config=config, file_overwrite=True, **options)

    def read_from(self, name: str, offset: int) -> Any:
        """Return the object's bytes from `offset` on, as a stream to read and close.

        raises  FileNotFoundError if there is no such object
        """
        stored_object = self.bucket.Object(self._normalize_name(clean_name(name)))
        try:
            return stored_object.get(Range=f"bytes={offset}-")["Body"]
        except ClientError as exc:
            if exc.response["ResponseMetadata"]["HTTPStatusCode"] in (404, 416):
                raise FileNotFoundError(name) from exc
            raise
