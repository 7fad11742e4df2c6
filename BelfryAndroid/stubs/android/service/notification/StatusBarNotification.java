package android.service.notification;

public class StatusBarNotification {
    public String getTag() { return null; }
    public int getId() { return 0; }
}
