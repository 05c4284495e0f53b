"""The fields of each document type: what a reply must have, and what its labels look like.

The one place that knows document types; report and gate do not. A type that is not here is not an
error of a document but a failure of the system that was given it, counted like any other.
"""

from collections.abc import Mapping
from typing import Literal

Kind = Literal["name", "code", "amount", "currency", "date", "tax_id", "notice_type"]

# As labels write them: dates YYYY-MM-DD, amounts with a point and two decimals, ISO 4217 currencies.
SCHEMAS: Mapping[str, Mapping[str, Kind]] = {
    "invoice": {
        "invoiceNumber": "code", "vendorName": "name", "totalAmount": "amount", "currency": "currency",
        "dueDate": "date",
    },
    "receipt": {"merchantName": "name", "totalAmount": "amount", "currency": "currency", "purchaseDate": "date"},
    "contract-notice": {"partyName": "name", "effectiveDate": "date", "noticeType": "notice_type"},
    "intake-id": {"fullName": "name", "taxId": "tax_id", "dateOfBirth": "date"},
}  # fmt: skip
NOTICE_TYPES = ("amendment", "renewal", "termination", "assignment")
CURRENCIES = ("BRL", "EUR", "USD")
