package android.content;

public abstract class BroadcastReceiver {
    public abstract void onReceive(Context context, Intent intent);
    public final PendingResult goAsync() { throw new UnsupportedOperationException(); }
    public static class PendingResult {
        public final void finish() {}
    }
}
