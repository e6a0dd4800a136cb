void call_all(void);

int main(void) {
  call_all();
  return 0;
}
