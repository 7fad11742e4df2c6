"""A client that was generated from the contract sets up an application at the real server, sends a push and reads what became of it."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "web"))

import belfry_api as api
from belfry_server import Belfry


def set_up(client):
    app = client.admin_v1_apps_post(api.NewAdminApp(name="Shop"))
    new = api.NewAdminPlatform(type="web", name="Web", credentials={})
    platform = client.admin_v1_apps_app_uuid_platforms_post(app.app_uuid, new)
    edit = api.WebAccessEdit(origins=["https://shop.example"])
    shown = client.admin_v1_platforms_platform_uuid_web_put(platform.platform_uuid, edit)
    assert shown.web.registration_key.startswith("pk_"), shown
    return app.app_uuid, platform.platform_uuid


def send(client, app, platform):
    message = api.MessageBesideTemplate(
        body="Hello", web=api.WebMessage(title="Goal", body="1:0", topic="score", ttl=0, urgency="very-low"))
    push = api.NewAdminPush(message=message, target=api.AdminTarget(everyone=True), urgency="urgent")
    sent = client.admin_v1_apps_app_uuid_pushes_post(app, push, idempotency_key="score-1")
    again = client.admin_v1_apps_app_uuid_pushes_post(app, push, idempotency_key="score-1")
    assert sent.receipt_id == again.receipt_id, "the same key is the same push"
    receipt = client.admin_v1_pushes_receipt_id_get(sent.receipt_id)
    assert receipt.message.web["title"] == "Goal" and receipt.devices == 0, receipt
    listed = client.admin_v1_apps_app_uuid_pushes_get(app).pushes
    assert [one.receipt_id for one in listed] == [sent.receipt_id], listed
    assert client.admin_v1_pushes_receipt_id_analytics_get(sent.receipt_id).platforms == []
    assert client.admin_v1_apps_app_uuid_devices_get(app, platform_uuid=str(platform)).devices == []


def refuse(client, app):
    try:
        client.admin_v1_apps_app_uuid_pushes_post(app, api.NewAdminPush(message=api.MessageBesideTemplate(body="x"), target=api.AdminTarget()))
    except api.ApiException as error:
        assert error.status == 400 and "target" in str(error.body), error
    else:
        raise AssertionError("a push to nobody was taken")


def main(binary):
    with tempfile.TemporaryDirectory(prefix="belfry-senders-") as folder:
        server = Belfry(binary, pathlib.Path(folder))
        try:
            with api.ApiClient(api.Configuration(host=server.url, access_token=server.admin_key)) as connection:
                client = api.AdminApi(connection)
                app, platform = set_up(client)
                send(client, app, platform)
                refuse(client, app)
                connection.rest_client.pool_manager.clear()
        finally:
            server.stop()
    print("the generated client: 1 passed, 0 failed")


main(sys.argv[1])
