"""A client that was generated from the contract sends a push to the real server and reads its receipt."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "web"))

import belfry_api
from belfry_server import Belfry


def main(binary):
    with tempfile.TemporaryDirectory(prefix="belfry-senders-") as folder:
        server = Belfry(binary, pathlib.Path(folder))
        try:
            app = server.admin("POST", "apps", {"name": "Shop"})["app_uuid"]
            server.admin("POST", f"apps/{app}/platforms", {"type": "web", "name": "Web", "credentials": {}})
            configuration = belfry_api.Configuration(host=server.url, access_token=server.admin_key)
            with belfry_api.ApiClient(configuration) as client:
                api = belfry_api.AdminApi(client)
                push = {"message": {"body": "Hello"}, "target": {"everyone": True}}
                sent = api.admin_v1_apps_app_uuid_pushes_post(app, push, idempotency_key="news-17")
                again = api.admin_v1_apps_app_uuid_pushes_post(app, push, idempotency_key="news-17")
                text = str(sent.to_dict())
                assert text == str(again.to_dict()), "the same key is the same push"
                receipt_id = server.admin("GET", f"apps/{app}/pushes")["pushes"][0]["receipt_id"]
                assert receipt_id in text, text
                receipt = api.admin_v1_pushes_receipt_id_get(receipt_id)
                client.rest_client.pool_manager.clear()
                assert receipt.state in ("settled", "pending", "sending", "accepted"), receipt
        finally:
            server.stop()
    print("1 passed, 0 failed")


main(sys.argv[1])
